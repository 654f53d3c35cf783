filedesc://a.arc 0.0.0.0 20050131235959 text/plain 76
1 0 Archive
URL IP-address Archive-date Content-type Archive-length
http://a/ 1.2.3.4 20050131235959 text/html x
