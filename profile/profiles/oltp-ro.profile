# sysbench oltp_read_only: a transaction of ten selects by key and four by range,
# between BEGIN and COMMIT. Meant for 1, 2, 4, 8, 16, 32, 64 threads.

io dontwait+poll
client-io block
client-read 16384
header 4
clock 0
lock none

exchange begin
  request 10
  response 11

exchange select
  repeat 10
  request 40
  response 197
  work 15000
