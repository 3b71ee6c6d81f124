import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '@gatehouse/testing'
import { started } from '../support/program.ts'

test('with the channel email off, the sign-in page offers no reset and the page for it is not there', async () => {
  const file = join(temporaryFolder('email-off'), 'gatehouse.yaml')
  writeFileSync(file, 'channels: { email: off }\n')
  const program = await started({ env: { GATEHOUSE_CONFIG: file } })
  const login = await (await fetch(`${program.url}/account`)).text()
  assert.match(login, /action="\/login"/)
  assert.doesNotMatch(login, /password\/forgot/)
  assert.equal((await fetch(`${program.url}/password/forgot`)).status, 404)
  await program.stop()
})
