extends Reference
class_name MusterTokenStore

## Keeps a login in memory. Extend it to keep logins elsewhere, such as in a keychain.

var _login = null


## Returns the login that was saved last, a Dictionary; null if there is none.
func load_login():
	return _login


## Saves a login. Whoever has it is the player: keep it secret. The login before does not work
## any more, so that one that is not saved is lost. Reports whether it was saved.
func save_login(login: Dictionary) -> bool:
	_login = login
	return true


## Removes the login. Reports whether it is gone.
func clear_login() -> bool:
	_login = null
	return true
