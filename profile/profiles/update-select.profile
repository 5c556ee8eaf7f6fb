# super-smack's update-select against MySQL as in 2006: an update of one row by
# its key, then a select of it.

# The reply to an update is an OK packet with its text ("Rows matched: 1 ...").
io block
client-io block
client-read 16384
header 4
clock 4:vdso
lock none

exchange update
  request 84
  response 52

exchange select
  request 60
  response 300
