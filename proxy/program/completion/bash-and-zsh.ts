import type { CompletedCommand, CompletedValue } from './command-tree.ts';

/**
 * Functions for either shell: `_gateway_walk` sets `at`, the command that the words before have come to, and `option`, whose
 * value comes next; `_gateway_next` sets `offered`, the words that may follow, or `files`. Nothing of the program is
 * started while somebody types.
 */
const shared = (commands: readonly CompletedCommand[]): string => `_gateway_walk() {
  local word
  at='' option=''
  for word in "$@"; do
    if [[ $word == '=' ]]; then continue; fi
    if [[ -n $option ]]; then option=''; continue; fi
    case "$at $word" in
${when(
  commands.slice(1).map(({ path }) => path),
  `at="$at $word"`,
)}
${when(
  valuesOf(commands).map(([at]) => at),
  'option=$word',
)}
    esac
  done
}
_gateway_next() {
  offered='' files=''
  if [[ -n $option ]]; then
    case "$at $option" in
${arms(valuesOf(commands))}
    esac
  elif [[ $1 == -* ]]; then
    case "$at" in
${commands.map(({ path, options }) => when([path], offer(options.map(({ long }) => long)))).join('\n')}
    esac
  else
    case "$at" in
${arms(commands.map(({ path, commands: inner, argument }) => [path, { ...argument, choices: [...inner.map(({ name }) => name), ...argument.choices] }]))}
    esac
  fi
}
`;

export const bashCompletion = (commands: readonly CompletedCommand[]): string => `# made by: gateway completion bash
${shared(commands)}_gateway() {
  local at option offered files cur="\${COMP_WORDS[COMP_CWORD]}"
  if [[ $cur == '=' ]]; then cur=''; fi
  _gateway_walk "\${COMP_WORDS[@]:1:COMP_CWORD-1}"
  _gateway_next "$cur"
  if [[ -n $files ]]; then compopt -o default; fi
  COMPREPLY=($(compgen -W "$offered" -- "$cur"))
}
complete -F _gateway gateway
`;

export const zshCompletion = (commands: readonly CompletedCommand[]): string => `# made by: gateway completion zsh
${shared(commands)}_gateway() {
  local at option offered files
  _gateway_walk "\${(@)words[2,CURRENT-1]}"
  _gateway_next "\${words[CURRENT]}"
  if [[ -n $files ]]; then _files; else compadd -- \${=offered}; fi
}
if whence compdef >/dev/null; then compdef _gateway gateway; fi
`;

/** Each option that takes a value, behind the command that it is of. */
const valuesOf = (commands: readonly CompletedCommand[]): [at: string, value: CompletedValue][] =>
  commands.flatMap(({ path, options }) =>
    options.flatMap(({ long, value }): [string, CompletedValue][] =>
      value === null ? [] : [[`${path} ${long}`, value]],
    ),
  );

/** What is neither chosen nor a file is not known before it is typed: then nothing is offered. */
const arms = (values: readonly (readonly [at: string, value: CompletedValue])[]): string =>
  values.map(([at, { choices, isFile }]) => when([at], isFile ? 'files=1' : offer(choices))).join('\n');

const offer = (words: readonly string[]): string => `offered='${words.join(' ')}'`;

const when = (at: readonly string[], then: string): string =>
  `      ${at.map((one) => `'${one}'`).join('|')}) ${then} ;;`;
