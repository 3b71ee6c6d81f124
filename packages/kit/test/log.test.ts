import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../src/index.ts'

function logged(write: (log: ReturnType<typeof createLog>) => void): string {
  const lines: string[] = []
  write(createLog('info', { write: (line) => void lines.push(line) }))
  return lines.join('')
}

test('the command of a failed login at Redis is not logged, at any depth of errors', () => {
  const refused = Object.assign(new Error('WRONGPASS invalid username-password pair'), {
    command: { name: 'hello', args: ['3', 'AUTH', 'default', 'hunter2'] },
    code: 'WRONGPASS',
  })
  const all = Object.assign(new Error('all nodes failed'), { lastNodeError: refused })
  for (const err of [refused, all]) {
    const line = logged((log) => log.warn({ err }, 'the counter store can not be reached'))
    assert.ok(!line.includes('hunter2'), line)
    assert.match(line, /WRONGPASS invalid username-password pair/)
    assert.match(line, /"code":"WRONGPASS"/)
  }
})

test('what was thrown without being an error is logged as it is', () => {
  assert.match(
    logged((log) => log.warn({ err: 'refused' })),
    /"err":"refused"/,
  )
})

test('known members with secrets are redacted', () => {
  assert.match(
    logged((log) => log.info({ user: { password: 'hunter2' } })),
    /"password":"\[secret\]"/,
  )
})
