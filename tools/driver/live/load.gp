# Plots a measurement of `chainbase-driver load`: gnuplot -c load.gp FOLDER, from FOLDER/load.csv to
# FOLDER/load.svg.
set datafile separator ','
set terminal svg size 900,780 font 'sans-serif,13' background '#ffffff'
set output ARG1.'/load.svg'
csv = ARG1.'/load.csv'

set multiplot layout 3,1
set grid lc '#dddddd'
set key outside right top vertical width 1
set lmargin 11
set rmargin 26
set tics nomirror
set border 3
set style data lines
set linetype 1 lw 2 lc '#1b6ca8'
set linetype 2 lw 2 lc '#d1495b'
set linetype 3 lw 2 lc '#6a994e'
set linetype 4 lw 2 lc '#7d7d7d'

set ylabel 'transactions/s'
set yrange [0:*]
set format y '%.0f'
plot csv skip 1 using 1:2 with steps lt 4 title 'rate', \
     csv skip 1 using 1:3 lt 1 title 'offered', \
     csv skip 1 using 1:4 lt 2 title 'completed'

set ylabel 'milliseconds'
set logscale y
set yrange [0.01:*]
set format y '%g'
plot csv skip 1 using 1:7 lt 1 title 'transactions p99', \
     csv skip 1 using 1:6 lt 3 title 'transactions p50', \
     csv skip 1 using 1:9 lt 2 title 'longest block', \
     csv skip 1 using 1:10 lt 4 title 'readers p99'
unset logscale y

set ylabel 'MiB'
set xlabel 'seconds'
set yrange [0:*]
set format y '%.0f'
plot csv skip 1 using 1:11 lt 1 title 'process', \
     csv skip 1 using 1:12 lt 3 title 'of that, the state'
unset multiplot
