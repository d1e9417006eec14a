# Countersign: asks before a destructive line that you typed runs. Made by `countersign shell-init`.
if [[ -o interactive && -z ${__countersign_ready-} ]]; then
  typeset -g __countersign_ready=1
  # Whatever the key did before, it does after a yes.
  zle -A accept-line __countersign_accept_line
  __countersign_accept() {
    if [[ -n $PREBUFFER$BUFFER ]]; then
      @ASK@ --typed -- "$PREBUFFER$BUFFER" </dev/tty
      if (( $? == 3 )); then
        zle -I
        zle redisplay
        return 0
      fi
    fi
    zle __countersign_accept_line
  }
  zle -N accept-line __countersign_accept
fi
