import type { CompletedCommand, CompletedOption } from './command-tree.ts';

/** For fish, which finds out itself what is the value of an option; where the words have come to, it asks `__gateway_at`. */
export function fishCompletion(commands: readonly CompletedCommand[]): string {
  const valued = commands.flatMap(({ path, options }) =>
    options.flatMap(({ long, value }) => (value === null ? [] : [`${path} ${long}`])),
  );
  return `# made by: gateway completion fish
set -g __gateway_commands ${commands
    .slice(1)
    .map(({ path }) => quoted(path))
    .join(' ')}
set -g __gateway_valued ${valued.map(quoted).join(' ')}
function __gateway_at
    set -l at ''
    set -l option ''
    for word in (commandline -opc)[2..]
        if test -n "$option"
            set option ''
        else if contains -- "$at $word" $__gateway_commands
            set at "$at $word"
        else if contains -- "$at $word" $__gateway_valued
            set option $word
        end
    end
    test "$at" = "$argv[1]"
end
complete -c gateway -f
${commands.flatMap(linesOf).join('\n')}
`;
}

function linesOf({ path, commands, options, argument }: CompletedCommand): string[] {
  const line = `complete -c gateway -n ${quoted(`__gateway_at '${path}'`)}`;
  return [
    ...commands.map(({ name, description }) => `${line} -a ${name} -d ${quoted(description)}`),
    ...(argument.choices.length === 0 ? [] : [`${line} -a ${quoted(argument.choices.join(' '))}`]),
    ...(argument.isFile ? [`${line} -F`] : []),
    ...options.map(
      (option) => `${line} -l ${option.long.slice(2)}${typedValue(option)} -d ${quoted(option.description)}`,
    ),
  ];
}

function typedValue({ value }: CompletedOption): string {
  if (value === null) return '';
  if (value.isFile) return ' -r -F';
  return value.choices.length === 0 ? ' -x' : ` -x -a ${quoted(value.choices.join(' '))}`;
}

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
