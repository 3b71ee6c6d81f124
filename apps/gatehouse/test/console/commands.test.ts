import assert from 'node:assert/strict'
import { test } from 'node:test'
import { de } from '../../../console/src/browser/texts/de.ts'
import { en } from '../../../console/src/browser/texts/en.ts'
import { commands } from '../../src/command/commands.ts'

/** Every text, however deep. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

test('every command that the console names is one of the program, with options that it knows', () => {
  const named = [en, de].flatMap(textsIn).flatMap((text) => [...text.matchAll(/gatehouse ([a-z]+ [a-z]+)([^,.:]*)/g)])
  const known = named.filter(([, name = '']) =>
    Object.keys(commands).some((each) => each.split(' ')[0] === name.split(' ')[0]),
  )
  assert.ok(known.length >= 6, `${known.length} commands are named`)
  for (const [text, name = '', rest = ''] of known) {
    const command = commands[name] ?? assert.fail(`there is no command ${name}: ${text}`)
    for (const [option] of rest.matchAll(/--[a-z-]+/g)) assert.ok(command.usage.includes(option), `${option}: ${text}`)
  }
})
