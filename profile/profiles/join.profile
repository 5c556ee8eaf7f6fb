# A join: a small request, long work in the server, a short reply. What a faster
# socket can give here is next to nothing: the null among the profiles.

io dontwait+poll
client-io block
client-read 16384
header 4
clock 4:vdso
lock none

exchange join
  request 180
  response 420
  work 2000000
