# What the stories share: the CLI pointed at Muster, and checks that become tests.

gl() { aws gamelift --endpoint-url "$ENDPOINT" --output text "$@"; }

failed=0
# check WHAT GOT WANT
check() {
	if [ "$2" = "$3" ]; then
		echo "ok - $1"
	else
		echo "not ok - $1"
		echo "  got  $2"
		echo "  want $3"
		failed=1
	fi
}

# refused WHAT EXCEPTION COMMAND…: the command fails with the exception.
refused() {
	local what="$1" exception="$2" text
	shift 2
	if text="$("$@" 2>&1)"; then
		check "$what" "$text" "an error"
	elif [[ "$text" == *"($exception)"* ]]; then
		check "$what" yes yes
	else
		check "$what" "$text" "$exception"
	fi
}
