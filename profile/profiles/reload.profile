# A dump that is loaded: large requests one after the other, hardly any work, a
# short reply. Meant for 8 connections.

# mysqldump's extended inserts are as long as its net_buffer_length, 1 MiB.
io dontwait+poll
client-io block
client-read 16384
header 4
clock 2:vdso
lock none

exchange load
  request 1046528
  response 61
  work 200000
