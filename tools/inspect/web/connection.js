// What comes from the server: the history of samples, and answers to single questions.

const pause = 1000; // milliseconds between two questions, while the page is seen
const patience = 5000;
const mostSamples = 3600;

/** What the server answered in place of what was asked, or that it did not answer. */
export class Trouble extends Error {
  constructor(message, isServerGone) {
    super(message);
    this.isServerGone = isServerGone;
  }
}

/** The JSON object at a path. Throws Trouble. */
export async function ask(path) {
  let answer;
  try {
    answer = await fetch(path, {cache: "no-store", signal: AbortSignal.timeout(patience)});
  } catch {
    throw new Trouble("The server does not answer.", true);
  }
  let object = null;
  try {
    object = await answer.json();
  } catch {
    throw new Trouble(`The server gave an answer that is cut (${answer.status}).`, true);
  }
  if (!answer.ok) throw new Trouble(object.error ?? `The server refused: ${answer.status}.`, false);
  return object;
}

/**
 * The samples of the last hour, which grow while the page is open.
 *
 * `changed` is called after each answer, and after each change of `trouble`: null, or why nothing
 * comes.
 */
export class History {
  constructor(changed) {
    this.changed = changed;
    this.begun = null;
    this.state = "";
    this.types = [];
    this.samples = [];
    this.trouble = null;
    this.troubleSince = null;
  }

  /** The last sample; null before the first answer. */
  get last() {
    return this.samples.length > 0 ? this.samples[this.samples.length - 1] : null;
  }

  /** The last one of a state that could be read. */
  get lastGood() {
    return this.samples.findLast((sample) => sample.error === null) ?? null;
  }

  async start() {
    for (;;) {
      await this.#once();
      await this.#wait();
    }
  }

  async #once() {
    try {
      this.#take(await ask(`api/history?after=${this.last?.number ?? 0}`));
      this.trouble = null;
      this.troubleSince = null;
    } catch (problem) {
      if (!(problem instanceof Trouble)) throw problem;
      this.trouble = problem;
      this.troubleSince ??= Date.now() / 1000;
    }
    this.changed();
  }

  #take(answer) {
    if (this.begun !== null && answer.begun !== this.begun) {
      // Another server, or another state: its numbers begin anew, so everything is asked for.
      this.begun = null;
      this.samples = [];
      return;
    }
    this.begun = answer.begun;
    this.state = answer.state;
    this.types = answer.types;
    this.samples.push(...answer.samples);
    this.samples.splice(0, Math.max(0, this.samples.length - mostSamples));
  }

  /** Until the next question; a page that comes to the front asks at once. */
  #wait() {
    return new Promise((resume) => {
      const seen = () => {
        if (document.hidden) return;
        clearTimeout(timer);
        document.removeEventListener("visibilitychange", seen);
        resume();
      };
      const timer = setTimeout(() => {
        if (!document.hidden) seen();
      }, pause);
      document.addEventListener("visibilitychange", seen);
    });
  }
}
