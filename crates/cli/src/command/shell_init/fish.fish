# Countersign: asks before a destructive line that you typed runs. Made by `countersign shell-init`.
if status is-interactive; and not set -q __countersign_ready
    set -g __countersign_ready 1
    function __countersign_enter
        set -l line (commandline -b | string collect)
        # A line that goes on, or an empty one, is not run yet.
        if test -n "$line"; and commandline --is-valid
            @ASK@ --typed -- $line </dev/tty
            if test $status -eq 3
                commandline -f repaint
                return
            end
        end
        commandline -f execute
    end
    for mode in default insert
        bind -M $mode \r __countersign_enter 2>/dev/null
        bind -M $mode enter __countersign_enter 2>/dev/null
        # A line typed ahead, before fish reads keys, ends in a line feed.
        bind -M $mode \n __countersign_enter 2>/dev/null
    end
end
