import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createProvider, providerKinds } from '../src/index.ts'
import { accountSid, authToken } from './support/twilio.ts'

const twilio = { provider: 'twilio', account_sid: accountSid, auth_token: authToken, from: '+14155550199' }

test('createProvider names every invalid option and what was expected', () => {
  const invalid = { provider: 'twilio', account_sid: 'AC1', timeout_seconds: 'soon', colour: 'red' }
  assert.throws(
    () => createProvider(invalid),
    (error: Error) => {
      assert.ok(error instanceof RangeError)
      assert.match(error.message, /options must have required properties auth_token/)
      assert.match(error.message, /account_sid must match pattern/)
      assert.match(error.message, /timeout_seconds must be number/)
      assert.match(error.message, /additional properties \(colour\)/)
      return true
    },
  )
})

test('createProvider lists the kinds if the option provider is not one of them', () => {
  for (const options of [null, 'smtp', {}, { provider: 'pigeon' }])
    assert.throws(() => createProvider(options), /^RangeError: provider must be one of smtp, ses, .*, http$/)
})

test('a provider has the name and the channel of its kind by default', async () => {
  const provider = createProvider(twilio)
  assert.deepEqual([provider.name, provider.channel], ['twilio', 'sms'])
  const named = createProvider({ ...twilio, name: 'eu' })
  assert.equal(named.name, 'eu')
  await Promise.all([provider.close?.(), named.close?.()])
})

test('a report reader can be created without the provider', () => {
  const context = { name: 'a', channel: 'sms', from: 'a@example.com', folder: '.', clock: { now: () => 0 } } as const
  const readerOf = (options: { readonly provider: string }) =>
    providerKinds.find(({ kind }) => kind === options.provider)?.createReportReader(options, context)
  assert.equal(readerOf(twilio)?.maxBytes, 64 * 1024)
  assert.equal(readerOf({ provider: 'fcm' }), undefined)
})

test('the kinds have different names', () => {
  const names = providerKinds.map(({ kind }) => kind)
  assert.deepEqual([...new Set(names)], names)
})
