import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whyQueued } from '../../src/browser/screens/repair/queues/queue-reason.ts'

const now = Date.parse('2026-06-01T12:00:00Z')
const ago = (seconds: number) => new Date(now - seconds * 1_000).toISOString()
const email = (state: string) => ({ channel: 'email', state })

test('what is queued says why it was not sent', () => {
  const late = { channel: 'email', due: 3, later: 0, oldest_due_at: ago(60) }
  const table = [
    [{ ...late, due: 0 }, [email('paused')], undefined, 'nothing waits'],
    [late, [email('paused'), email('paused')], 'paused', 'nobody may be called'],
    [late, [email('open'), email('paused')], 'failing', 'one fails, the other is paused'],
    [late, [email('misconfigured')], 'failing', 'our credentials are rejected'],
    [late, [email('closed'), email('paused')], 'busy', 'one could be called, and is not'],
    [{ ...late, oldest_due_at: ago(2) }, [email('closed')], 'sent', 'it has only just become due'],
    [{ ...late, due: 0, later: 4 }, [email('closed')], undefined, 'its next attempt is not due yet'],
    [{ ...late, due: 0, later: 4 }, [email('open')], 'failing', 'its next attempt waits for the provider'],
    [late, [{ channel: 'sms', state: 'paused' }], 'busy', 'the provider of another channel says nothing'],
  ] as const
  for (const [depth, providers, expected, why] of table) assert.equal(whyQueued(depth, providers, now), expected, why)
})
