# sysbench oltp_read_write: the selects of oltp-ro, then two updates, a delete
# and an insert, between BEGIN and COMMIT. Meant for 1, 2, 4, 8, 16, 32, 64
# threads.

# Sizes, calls and work from MariaDB 10.11 with prepared statements on Linux
# 6.18, its log not flushed at each commit.
io dontwait+poll
client-io dontwait+poll
client-read 16384
header 4
clock 0
lock none

exchange begin
  request 14
  response 11
  work 1000

exchange select
  repeat 10
  request 24
  response 150
  work 6000

exchange range
  request 32
  response 12624
  work 30000

exchange sum
  request 32
  response 37
  work 27000

exchange order
  request 32
  response 12624
  work 46000

exchange distinct
  request 32
  response 12624
  work 80000

exchange update-index
  request 24
  response 52
  work 24000

exchange update-other
  request 144
  response 52
  work 11000

exchange delete
  request 24
  response 11
  work 10000

exchange insert
  request 212
  response 13
  work 12000

exchange commit
  request 14
  response 11
  work 4000
