import assert from 'node:assert/strict'
import { startPostgres, testWith } from '@gatehouse/testing'
import { started } from '../support/program.ts'

testWith('postgresql', 'with DATABASE_URL the shipped file makes nobody an administrator, and says so', async () => {
  const postgres = await startPostgres()
  const env = {
    DATABASE_URL: postgres.url,
    SMTP_URL: 'smtp://127.0.0.1:2525',
    ENCRYPTION_KEY: 'zX9-kq3vTn2_pWs7Lm4Rb8Yc1Dh6Fj5G',
  }
  try {
    const program = await started({ env })
    const { stdout } = await program.stop()
    assert.match(stdout, /user +alice /)
    assert.doesNotMatch(stdout, /administers/)
    assert.match(stdout, /"user":"alice".*makes nobody an administrator/)
  } finally {
    await postgres.stop()
  }
})
