filedesc://a 0.0.0.0 20050131235959 text/plain ²
