package fault

import "net/http"

// HTTPStatus returns the status with which doors of Muster's own answer a fault;
// AWS's protocols have statuses of theirs.
func (k Kind) HTTPStatus() int {
	switch k {
	case MissingAuthentication, InvalidSignature, UnrecognizedClient:
		return http.StatusUnauthorized
	case AccessDenied, Unauthorized:
		return http.StatusForbidden
	case NotFound:
		return http.StatusNotFound
	case Conflict:
		return http.StatusConflict
	case Throttling:
		return http.StatusTooManyRequests
	case InternalService:
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}
