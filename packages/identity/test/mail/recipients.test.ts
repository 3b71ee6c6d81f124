import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatRecipient } from '../../src/mail/messages.ts'
import type { User } from '../../src/model/user.ts'

const user: User = {
  id: 'alice',
  username: 'alice',
  plan: undefined,
  email: 'new@example.com',
  emailVerified: true,
  passwordHash: undefined,
  passwordChangedAt: 0,
  credentialVersion: '1',
  roles: [],
  claims: {},
  lockedAt: undefined,
  createdAt: 0,
  updatedAt: 0,
}

const recipientWith = (claims: User['claims']) => formatRecipient({ ...user, claims })
const reachable = { user_id: 'alice', email: 'new@example.com' }

test('a phone number is sent to the notification service in E.164, however the claim writes it', () => {
  for (const [claim, sent] of [
    ['+1 (425) 555-1212', '+14255551212'],
    ['0049 30/123.456', '+4930123456'],
    ['+14155550100', '+14155550100'],
  ] as const)
    assert.deepEqual(recipientWith({ phone_number: claim }), { ...reachable, phone_number: sent })
})

test('a claim that the notification service refuses is left out and keeps no other from it', () => {
  const good = { phone_number: '+14155550100', locale: 'pt_BR', zoneinfo: 'Europe/Berlin' }
  assert.deepEqual(recipientWith(good), { ...reachable, ...good })
  for (const [name, values] of [
    ['phone_number', ['+1 (604) 555-1234;ext=5678', '425 555 1212', 'by day', '']],
    ['locale', ['en-US.UTF-8', 'English (US)', '*', '', `en-x-${'private-'.repeat(20)}x`]],
    ['zoneinfo', ['Pacific Time', '+02:00', '2026-01-01T00:00+09:00', 'UTC+2', '']],
  ] as const)
    for (const value of [...values, 5, null, ['en']]) {
      const { [name]: _, ...others } = good
      assert.deepEqual(recipientWith({ ...good, [name]: value }), { ...reachable, ...others }, `${name} ${value}`)
    }
})
