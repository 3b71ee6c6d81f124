import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commands } from '../../src/command/commands.ts'
import { runCommand } from '../../src/command/run.ts'
import { describeCommands, readUsage } from '../../src/command/usage.ts'

/** Types a command that is refused, or only printed, before a database is opened; answers what it printed. */
async function typeWithoutDatabase(...typed: string[]): Promise<string> {
  const printed: string[] = []
  const { log } = console
  console.log = (line: string) => printed.push(line)
  const unopened = () => assert.fail('nothing was to be opened')
  try {
    await runCommand(typed, unopened, { distribute: unopened, reseal: unopened, rotateLinks: unopened })
  } finally {
    console.log = log
  }
  return printed.join('\n')
}

const refusals: ReadonlyArray<readonly [typed: string, expected: RegExp]> = [
  ['client', /^unknown command "client"; client has list, add, change, secret, remove$/],
  ['client dance', /^unknown command "client dance"; client has list, /],
  ['client chang shop', /^unknown command "client chang"; did you mean change\?; client has/],
  ['clients list', /^unknown command "clients list"; did you mean client\?; `gatehouse --help` lists/],
  ['client add', /^<id> is missing; usage: gatehouse client add <id> \[--name NAME\]/],
  ['member add acme', /^<user> is missing; usage: gatehouse member add <organization> <user> /],
  [
    'admin grant olga',
    /^<gatehouse-owner\|gatehouse-operator\|gatehouse-support\|gatehouse-auditor> is missing; usage/,
  ],
  ['user lock bob extra', /^unexpected argument extra; usage: gatehouse user lock <id>$/],
  ['user list --email a@b.example', /^unexpected option --email; usage: gatehouse user list$/],
  ['user disconnect dora', /^--link is missing; usage: gatehouse user disconnect <id> --link ID$/],
  ['api-key add', /^<owner> is missing, --scopes is missing; usage: gatehouse api-key add <owner> --scopes A,B /],
  ['client list --loud', /^Unknown option '--loud'; `gatehouse --help` lists all commands$/],
  ['client add shop --name', /^Option '--name <value>' argument missing; /],
  ['help client dance', /^unknown command "client dance"/],
  ['help clients', /^unknown command "clients"; did you mean client\?; `gatehouse --help` lists/],
  ['nothing --help', /^unknown command "nothing"; `gatehouse --help` lists all commands$/],
]

for (const [typed, expected] of refusals) {
  test(`gatehouse ${typed}: is refused with what was expected, before the database is opened`, async () => {
    await assert.rejects(typeWithoutDatabase(...typed.split(' ')), { name: 'StartError', message: expected })
  })
}

test('help is shown for all commands, for those of an object, and for one', async () => {
  for (const typed of ['', 'help', '--help', '-h'])
    assert.equal(await typeWithoutDatabase(...typed.split(' ').filter(Boolean)), describeCommands(commands))
  for (const typed of ['client --help', 'help client'])
    assert.deepEqual(
      (await typeWithoutDatabase(...typed.split(' '))).match(/^ {2}gatehouse \S+ \S+/gm),
      ['list', 'add', 'change', 'secret', 'remove'].map((action) => `  gatehouse client ${action}`),
    )
  for (const typed of ['client secret --help', 'help client secret']) {
    const shown = await typeWithoutDatabase(...typed.split(' '))
    assert.equal(
      shown,
      'usage: gatehouse client secret …, with the settings of the program\n\n' +
        '  gatehouse client secret <id> [--overlap SECONDS]\n' +
        '      generate a new secret; the old one stops working, or does after the overlap',
    )
  }
})

test('an option is a flag in every command or has a value in every command', () => {
  const kinds = new Map<string, boolean>()
  for (const { usage } of Object.values(commands))
    for (const { name, isFlag } of readUsage(usage).options) {
      assert.equal(kinds.get(name) ?? isFlag, isFlag, name)
      kinds.set(name, isFlag)
    }
  assert.equal(kinds.get('public'), true)
  assert.equal(kinds.get('overlap'), false)
})
