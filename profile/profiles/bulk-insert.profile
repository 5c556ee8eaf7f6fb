# Inserts of 1000 rows a statement: a large request, some work, a short reply.
# Meant for 1, 2, 4, 8, 16 sessions.

# 1000 rows of about 190 bytes of text.
io dontwait+poll
client-io block
client-read 16384
header 4
clock 4:vdso
lock none

exchange insert
  request 190000
  response 61
  work 4000000
