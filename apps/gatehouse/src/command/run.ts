import { parseArgs } from 'node:util'
import type { Management } from '@gatehouse/identity'
import { StartError } from '@gatehouse/kit'
import type { Command, Maintenance } from './command.ts'
import { commands } from './commands.ts'
import type { Typed } from './typed.ts'

const flags = ['public', 'compromised', 'help']
const values = [
  ...[
    'name',
    'username',
    'email',
    'plan',
    'roles',
    'scopes',
    'grant-types',
    'redirect-uris',
    'assertion-audience',
    'alg',
  ],
  ...['client', 'session', 'link', 'buckets'],
  ...['source', 'signer-key', 'salt-separator', 'rounds', 'mem-cost'],
]

/** Management on an opened database, and how to let go of it. */
export interface OpenManagement {
  readonly management: Management
  readonly close: () => Promise<void>
}

/**
 * Runs one command of `gatehouse`, on the database that `open` opens or as maintenance of all stores, and prints what it
 * answers as JSON.
 * @throws StartError for a command that isn't one, and for a data folder that a running program holds
 */
export async function runCommand(
  typed: readonly string[],
  open: () => Promise<OpenManagement>,
  maintenance: Maintenance,
): Promise<void> {
  const { positionals, values: options } = read(typed)
  const name = positionals.slice(0, 2).join(' ')
  if (options.help || positionals.length === 0) {
    console.log(usage())
    return
  }
  const command = commands[name]
  if (!command) throw new StartError(`unknown command ${JSON.stringify(name)}; \`gatehouse --help\` lists all commands`)
  const surplus = positionals.slice(2 + argumentsOf(command).length)
  if (surplus.length > 0)
    throw new StartError(`unexpected argument ${surplus.join(' ')}; usage: gatehouse ${name} ${command.usage}`)
  const input = { args: positionals.slice(2), options }
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

/** What the usage names in angle brackets, before the options. */
function argumentsOf({ usage }: Command): string[] {
  return usage.split('[', 1)[0]?.match(/<\w+>/g) ?? []
}

function read(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        ...Object.fromEntries(flags.map((flag) => [flag, { type: 'boolean' as const }])),
        ...Object.fromEntries(values.map((value) => [value, { type: 'string' as const }])),
      },
    })
  } catch (error) {
    throw new StartError((error as Error).message)
  }
}

function usage(): string {
  const lines = Object.entries(commands).map(
    ([name, { usage: rest, summary }]) => `  gatehouse ${name} ${rest}\n      ${summary}`,
  )
  return `usage: gatehouse <object> <action> …, with the settings of the program\n\n${lines.join('\n')}`
}
