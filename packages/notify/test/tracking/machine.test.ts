import assert from 'node:assert/strict'
import { test } from 'node:test'
import { machineOf } from '../../src/tracking/machine.ts'

const machineCalled = (agent: string) => machineOf({ method: 'GET', headers: { 'user-agent': agent } })

test('a machine is known by the name that it gives itself, and a person is none', () => {
  assert.equal(machineCalled('Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)'), 'Slackbot')
  assert.equal(machineCalled('Mozilla/5.0 (compatible; bingbot/2.0)'), 'bingbot')
  assert.equal(machineCalled('Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'), undefined)
})

// Where the whole of it were looked through, it would take hours.
test('a name as long as nobody has is looked at in no time', { timeout: 60_000 }, () => {
  assert.equal(machineCalled('a'.repeat(2_000_000)), undefined)
  assert.equal(machineCalled(`crawler ${'a'.repeat(2_000_000)}`), 'crawler')
})
