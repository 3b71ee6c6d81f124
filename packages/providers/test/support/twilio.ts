import { startTwilio } from '@gatehouse/fakes'
import { rehearse, type TestEnd } from './setup.ts'

export const accountSid = `AC${'0'.repeat(32)}`
export const authToken = 'a-token-of-the-account'
export const publicUrl = 'https://gatehouse.example.com'

/** Twilio, and a provider that sends to it. */
export const setup = (t: TestEnd, declared: Record<string, unknown> = {}) =>
  rehearse(t, startTwilio({ accountSid, authToken }), ({ url }) => {
    const keys = { account_sid: accountSid, auth_token: authToken }
    return { provider: 'twilio', ...keys, from: '+14155550199', url, ...declared }
  })
