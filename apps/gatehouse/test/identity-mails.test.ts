import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultLifetimes } from '@gatehouse/identity'
import { identityEventTypes } from '../src/compose/identity-mail.ts'

test('each of the mails of identity expires when its link does', () => {
  const { verifyLink, resetLink, signInLink } = defaultLifetimes
  assert.deepEqual(Object.fromEntries(identityEventTypes.map(({ event, ttl_seconds }) => [event, ttl_seconds])), {
    verify_email: verifyLink,
    reset_password: resetLink,
    confirm_sign_in: signInLink,
    confirm_registration: verifyLink,
    account_exists: verifyLink,
  })
})
