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
      Type.Array(
        Type.Object({ client_id: Type.String(), secret: Type.Optional(Type.String({ minLength: 16 })) }, strict),
      ),
    ),
    cap: Type.Optional(Type.Integer({ minimum: 1 })),
    mail: Type.Optional(Type.Union([Type.Literal('on'), Type.Literal('off'), Type.Boolean()])),
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
  const { value } = setup("clients:\n  - client_id: '${NAME:-web}'\n    secret: ${SECRET}\n", {
    SECRET: 'a-secret-of-some-length',
  })
  assert.deepEqual(value, { clients: [{ client_id: 'web', secret: 'a-secret-of-some-length' }] })
})

test('a variable that is not set is named with its line', () => {
  assert.deepEqual(setup('clients:\n  - client_id: web\n    secret: ${SECRET}\n').lines, [
    'file:3: the environment variable SECRET is not set',
  ])
})

test('every fault of the file is named at once, each with its line and what was expected', () => {
  const { lines } = setup('cap: many\nclients:\n  - secret: aaaaaaaaaaaaaaaa\n    colour: red\nusers: []\n')
  assert.deepEqual(lines.sort(), [
    'file:1: cap must be an integer',
    'file:3: clients.0 needs client_id',
    'file:4: clients.0.colour is not known here; known are client_id, secret',
    'file:5: users is not known here; known are clients, cap, mail, colour, plans',
  ])
})

test('an unknown member is named with the known one of a similar name', () => {
  assert.deepEqual(setup('client: []\n').lines, [
    'file:1: client is not known here; did you mean clients? Known are clients, cap, mail, colour, plans',
  ])
})

test('a value that may be one of several is reported in one line', () => {
  assert.deepEqual(setup('mail: no\n').lines, ['file:1: mail must be on, off, true or false'])
  assert.deepEqual(setup('mail: 2\n').lines, ['file:1: mail must be on, off, true or false'])
})

test('a member that is declared twice is named', () => {
  assert.deepEqual(setup('cap: 1\nplans: {}\ncap: 2\n').lines, ['file:3: cap is declared twice'])
})

test('an alias is refused with its line, one that leads to itself too', () => {
  const expected = 'aliases (*) are not supported: write the value here'
  assert.deepEqual(setup('plans: &plans\n  free: 1\nclients: *plans\n').lines, [`file:3: ${expected}`])
  assert.deepEqual(setup('plans: &plans\n  free: *plans\n').lines, [`file:2: ${expected}`])
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

test('of a file that is not YAML the first fault is reported, the others follow from it', () => {
  assert.deepEqual(setup('cap: 1\nclients: [\nplans: { a: 1 }\n').lines.length, 1)
})

test('a variable without quotes in a flow mapping is refused with how to write it', () => {
  const text = 'clients:\n  - { client_id: web, secret: ${SECRET} }\ncap: 1\n'
  assert.deepEqual(setup(text, { SECRET: 'a-secret-of-some-length' }).lines, [
    'file:2: a variable between { } or [ ] is written in quotes: "${SECRET}"',
  ])
})

test('an empty file declares nothing', () => {
  assert.deepEqual(setup('# nothing yet\n').value, {})
})
