import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { StartError } from '@gatehouse/kit'
import { temporaryFolder } from '@gatehouse/testing'
import { Type } from 'typebox'
import { Faults } from '../../src/config/faults.ts'
import { readYamlFile } from '../../src/config/yaml-file.ts'

const strict = { additionalProperties: false }
const schema = Type.Object(
  {
    clients: Type.Optional(
      Type.Array(Type.Object({ client_id: Type.String(), secret: Type.Optional(Type.String()) }, strict)),
    ),
    cap: Type.Optional(Type.Integer({ minimum: 1 })),
    colour: Type.Optional(
      Type.String({ pattern: '^#[0-9a-f]{6}$', description: 'Of buttons and links.', examples: ['#1f5fbf'] }),
    ),
    plans: Type.Optional(
      Type.Record(Type.String(), Type.Integer(), {
        propertyNames: { pattern: '^[a-z]+$', description: 'Lower-case letters' },
      }),
    ),
  },
  strict,
)

function setup(text: string, environment: Record<string, string> = {}) {
  const path = join(temporaryFolder('config'), 'gatehouse.yaml')
  writeFileSync(path, text)
  const faults = new Faults()
  const value = readYamlFile(path, schema, environment, faults)?.value
  let lines: string[] = []
  try {
    faults.throwIfAny()
  } catch (error) {
    assert.ok(error instanceof StartError)
    lines = error.message.split('\n').map((line) => line.replace(path, 'file'))
  }
  return { value, lines }
}

test('variables in the file are replaced from the environment or by their fallback', () => {
  const { value } = setup("clients:\n  - client_id: '${NAME:-web}'\n    secret: ${SECRET}\n", { SECRET: 's3cret' })
  assert.deepEqual(value, { clients: [{ client_id: 'web', secret: 's3cret' }] })
})

test('a variable that is not set is named with its line', () => {
  assert.deepEqual(setup('clients:\n  - client_id: web\n    secret: ${SECRET}\n').lines, [
    'file:3: the environment variable SECRET is not set',
  ])
})

test('every fault of the file is named at once, each with its line and what was expected', () => {
  const { lines } = setup('cap: many\nclients:\n  - secret: x\n    colour: red\nusers: []\n')
  assert.deepEqual(lines.sort(), [
    'file:1: cap must be integer',
    'file:3: clients.0 needs client_id',
    'file:4: clients.0.colour is not known here; known are client_id, secret',
    'file:5: users is not known here; known are clients, cap, colour, plans',
  ])
})

test('a value or name of the wrong form is reported with what was expected, not a pattern', () => {
  const { lines } = setup('colour: red\nplans:\n  free: 1\n  Pro: 2\n')
  assert.deepEqual(lines, [
    'file:1: colour does not have the form that is expected here: Of buttons and links, such as #1f5fbf',
    'file:4: plans.Pro: the name does not have the form that is expected here: Lower-case letters',
  ])
})

test('a file that is not YAML is named with the line where it stops being so', () => {
  assert.match(setup('cap: 1\nclients: [\n').lines.join(), /^file:\d: /)
})

test('an empty file declares nothing', () => {
  assert.deepEqual(setup('# nothing yet\n').value, {})
})
