# Countersign: asks before a destructive line that you typed runs. Made by `countersign shell-init`.
if [[ $- == *i* && -z ${__countersign_state-} ]]; then
  __countersign_state=done
  __countersign_no=0
  __countersign_last=

  # Before everything else that runs for a prompt: nothing of that is held back.
  __countersign_done() { __countersign_state=done __countersign_no=0; }
  # After everything else: what comes next was typed.
  __countersign_ready() {
    __countersign_last=$(HISTTIMEFORMAT='' builtin history 1)
    __countersign_state=typed
  }

  __countersign_debug() {
    case $1 in
      # Ours: these also end a refusal.
      __countersign_*) return 0 ;;
    esac
    # Inside a completion nothing was typed to an end.
    [[ -n ${COMP_LINE-} ]] && return 0
    local line
    case $__countersign_state in
      done) return "$__countersign_no" ;;
      typed)
        line=$(HISTTIMEFORMAT='' builtin history 1)
        if [[ $line == "$__countersign_last" ]]; then
          # The line is not kept in the history: its commands are looked at one by one.
          __countersign_state=each
          line=$1
        else
          __countersign_state=done
          [[ $line =~ ^[[:space:]]*[0-9]+\*?[[:space:]]+(.*)$ ]] && line=${BASH_REMATCH[1]}
        fi
        ;;
      each) line=$1 ;;
    esac
    @ASK@ -- "$line"
    if [[ $? -eq 3 ]]; then
      __countersign_state=done __countersign_no=1
      return 1
    fi
    return 0
  }

  PROMPT_COMMAND=(__countersign_done "${PROMPT_COMMAND[@]}" __countersign_ready)
  # With extdebug a trap that fails skips the command.
  shopt -s extdebug
  trap '__countersign_debug "$BASH_COMMAND"' DEBUG
fi
