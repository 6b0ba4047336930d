# Plots what `chainbase-bench growth --csv` measured: gnuplot -c growth.gp growth.csv growth.svg
set datafile separator ','
set terminal svg size 900,640 font 'sans-serif,13' background '#ffffff'
set output ARG2
rows(engine, operation) = '< grep ^'.engine.','.operation.', '.ARG1

set multiplot layout 2,1
set grid lc '#dddddd'
set key outside right top vertical width 1
set lmargin 11
set rmargin 26
set tics nomirror
set border 3
set style data linespoints
set pointsize 0.5
set linetype 1 lw 2 lc '#1b6ca8'
set linetype 2 lw 2 lc '#d1495b'
set linetype 3 lw 2 lc '#6a994e'
set linetype 4 lw 2 lc '#edae49'
set xrange [0:*]

set ylabel 'ns per operation'
set logscale y
set yrange [100:20000]
plot rows('classical', 'payment') using ($3/1e6):5 lt 2 title 'classical, payment', \
     rows('classical', 'create') using ($3/1e6):5 lt 4 title 'classical, create', \
     rows('chainbase', 'payment') using ($3/1e6):5 lt 1 title 'chainbase, payment', \
     rows('chainbase', 'create') using ($3/1e6):5 lt 3 title 'chainbase, create'
unset logscale y

set ylabel 'bytes per object'
set xlabel 'million accounts'
set yrange [0:*]
plot rows('classical', 'state_bytes_per_object') using ($3/1e6):5 lt 2 title 'classical', \
     rows('chainbase', 'state_bytes_per_object') using ($3/1e6):5 lt 1 title 'chainbase'
unset multiplot
