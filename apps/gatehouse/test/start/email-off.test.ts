import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '@gatehouse/testing'
import { started } from '../support/program.ts'

test('the sign-in page offers no password reset while the channel email is off', async () => {
  const file = join(temporaryFolder('email-off'), 'gatehouse.yaml')
  writeFileSync(file, 'channels: { email: off }\n')
  const program = await started({ env: { GATEHOUSE_CONFIG: file } })
  const login = await (await fetch(`${program.url}/account`)).text()
  assert.match(login, /action="\/login"/)
  assert.doesNotMatch(login, /password\/forgot/)
  assert.equal((await fetch(`${program.url}/password/forgot`)).status, 404)
  await program.stop()
})
