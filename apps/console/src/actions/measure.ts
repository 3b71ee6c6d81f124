import { accountable, everybody, read } from './action.ts'

/** What is read of figures, of the setup and of the state of the installation. */
export const measure = {
  readStats: read('stats.get', everybody),
  readSignInStats: read('signInStats.get', everybody),
  readStatus: read('status.get', everybody),
  readSetup: read('setup.get', everybody),
  readConfig: read('config.get', accountable),
  readStorage: read('storage.get', accountable),
  readDrift: read('drift.get', accountable),
}
