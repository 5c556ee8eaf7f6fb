# super-smack's select-key against MySQL as in 2006: one row by its key. Clients
# are processes with one query outstanding, the server has a thread a connection.

# The request is a header of 4 bytes and a query of 56; the reply is four columns
# in the protocol of MySQL 4.1 (165 bytes in that of 4.0). The server reads header
# and body apart, calls gettimeofday a few times, and answers in one write.
io block
client-io block
client-read 16384
header 4
clock 4:vdso
lock none

exchange select
  request 60
  response 300
