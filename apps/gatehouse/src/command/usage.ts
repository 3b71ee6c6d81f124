import { StartError, suggestionFor } from '@gatehouse/kit'
import type { Command, Commands } from './command.ts'
import type { Typed } from './typed.ts'

/** What a command takes, as its usage names it. */
export interface Signature {
  /** Names of its arguments, in order; all are required. */
  readonly args: readonly string[]
  readonly options: ReadonlyArray<{ readonly name: string; readonly isFlag: boolean; readonly isRequired: boolean }>
}

/** Reads a usage such as `<id> --scopes A,B [--name NAME] [--public]`: brackets make an option optional. */
export function readUsage(usage: string): Signature {
  return {
    args: [...usage.matchAll(/<([\w|-]+)>/g)].map(([, name = '']) => name),
    options: [...usage.matchAll(/(\[?)--([a-z-]+)( [^\s[\]]+)?/g)].map(([, bracket, name = '', value]) => ({
      name,
      isFlag: value === undefined,
      isRequired: bracket === '',
    })),
  }
}

/**
 * The commands whose name begins with these words (all of them without one), each with what it does.
 * @throws StartError naming what there is instead where there is none
 */
export function describeCommands(commands: Commands, words: readonly string[] = []): string {
  const [object = '<object>', action = '<action>'] = words
  const found = Object.entries(commands).filter(([name]) =>
    words.every((word, index) => name.split(' ')[index] === word),
  )
  if (found.length === 0) throw unknownCommand(commands, words.join(' '))
  const lines = found.map(([name, command]) => `  ${usageLine(name, command)}\n      ${command.summary}`)
  return `usage: gatehouse ${object} ${action} …, with the settings of the program\n\n${lines.join('\n')}`
}

/** The command of this name. @throws StartError naming what there is instead */
export function findCommand(commands: Commands, name: string): Command {
  const command = commands[name]
  if (command) return command
  throw unknownCommand(commands, name)
}

function unknownCommand(commands: Commands, name: string): StartError {
  const [object = '', action = ''] = name.split(' ')
  const names = Object.keys(commands).map((each) => each.split(' '))
  const actions = names.flatMap(([each, of = '']) => (each === object ? of : []))
  const unknown = `unknown command ${JSON.stringify(name)}`
  if (actions.length > 0)
    return new StartError(`${unknown}${suggestionFor(action, actions)}; ${object} has ${actions.join(', ')}`)
  const objects = [...new Set(names.map(([each = '']) => each))]
  return new StartError(`${unknown}${suggestionFor(object, objects)}; \`gatehouse --help\` lists all commands`)
}

/** Checks that a command has its arguments and options, and no others. @throws StartError with the usage */
export function checkTyped(name: string, command: Command, { args, options }: Typed): void {
  const expected = readUsage(command.usage)
  const known = new Set(expected.options.map((option) => option.name))
  const faults = [
    ...expected.args.slice(args.length).map((each) => `<${each}> is missing`),
    ...args.slice(expected.args.length).map((each) => `unexpected argument ${each}`),
    ...expected.options
      .filter((option) => option.isRequired && options[option.name] === undefined)
      .map((option) => `--${option.name} is missing`),
    ...Object.keys(options)
      .filter((option) => !known.has(option))
      .map((option) => `unexpected option --${option}`),
  ]
  if (faults.length > 0) throw new StartError(`${faults.join(', ')}; usage: ${usageLine(name, command)}`)
}

function usageLine(name: string, { usage }: Command): string {
  return `gatehouse ${name} ${usage}`.trimEnd()
}
