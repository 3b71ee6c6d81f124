import { parseArgs } from 'node:util'
import type { Management } from '@gatehouse/identity'
import { StartError } from '@gatehouse/kit'
import type { Command, Maintenance } from './command.ts'
import { commands } from './commands.ts'
import type { Typed } from './typed.ts'
import { checkTyped, describeCommands, findCommand, readUsage } from './usage.ts'

/** Management on an opened database, and how to let go of it. */
export interface OpenManagement {
  readonly management: Management
  readonly close: () => Promise<void>
}

/**
 * Runs one command of `gatehouse`, on the database that `open` opens or as maintenance of all stores, and prints what it
 * answers as JSON. Nothing is opened for a command that lacks something.
 * @throws StartError for a command that isn't one, and for a data folder that a running program holds
 */
export async function runCommand(
  typed: readonly string[],
  open: () => Promise<OpenManagement>,
  maintenance: Maintenance,
): Promise<void> {
  const { positionals, values } = read(typed)
  const { help, ...options } = values
  const words = positionals.filter((word, index) => index > 0 || word !== 'help').slice(0, 2)
  if (words.length === 0) return console.log(describeCommands(commands))
  const name = words.join(' ')
  if (help || positionals[0] === 'help') return console.log(describeCommands(commands, words))
  const command = findCommand(commands, name)
  const input: Typed = { args: positionals.slice(2), options }
  checkTyped(name, command, input)
  const answer =
    'maintain' in command ? await command.maintain(maintenance, input) : await runManagement(command, input, open)
  console.log(JSON.stringify(answer ?? { done: true }, null, 2))
}

async function runManagement(
  command: Extract<Command, { run: unknown }>,
  typed: Typed,
  open: () => Promise<OpenManagement>,
): Promise<unknown> {
  const { management, close } = await open()
  try {
    return await command.run(management, typed)
  } finally {
    await close()
  }
}

/** Reads what was typed, by the options of all commands. */
function read(args: readonly string[]) {
  const known = Object.values(commands).flatMap(({ usage }) => readUsage(usage).options)
  const types = known.map(({ name, isFlag }) => [name, { type: isFlag ? 'boolean' : 'string' }] as const)
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { ...Object.fromEntries(types), help: { type: 'boolean', short: 'h' } },
    })
  } catch (error) {
    // Node adds how to type an argument that begins with a dash, which no command has.
    throw new StartError(`${(error as Error).message.split('. ')[0]}; \`gatehouse --help\` lists all commands`)
  }
}
