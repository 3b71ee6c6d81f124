/**
 * A process in which alice changes her password and which dies then: `node dying-process.ts URL MOMENT`. The moment is
 * `commit`, before anything is delivered, or `delivery`, once the notification service has the notice.
 */
import { openPostgres, Secret, silentLog } from '@gatehouse/kit'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import { TestBrowser, users } from './journey.ts'
import { setup } from './setup.ts'

const [url = '', moment = ''] = process.argv.slice(2)
const database = await openPostgres({ url: new Secret(url), log: silentLog, connections: 4 })
const store = postgresIdentityStore(database)
const { accounts } = store
const dyingAccounts = Object.assign(Object.create(accounts) as typeof accounts, {
  async setPassword(...change: Parameters<typeof accounts.setPassword>) {
    const changed = await accounts.setPassword(...change)
    if (moment === 'commit') process.kill(process.pid, 'SIGKILL')
    return changed
  },
})
const running = await setup(
  {
    store: { ...store, accounts: dyingAccounts },
    declared: { users },
    background: moment === 'delivery',
    async notify(request) {
      if (request.event !== 'password_changed') return
      await new Promise((resolve) => process.send?.(request, resolve))
      process.kill(process.pid, 'SIGKILL')
    },
  },
  database,
)
const browser = new TestBrowser(running)
await browser.signIn(await browser.get('/account'))
const page = await browser.get('/account/password')
await browser.submit(page, { old_password: 'correct horse', new_password: 'a better password' })
