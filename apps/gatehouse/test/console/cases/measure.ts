import type { measure as actions } from '@gatehouse/console/actions'
import type { Cases } from './case.ts'

/** A call for each action of this part. */
export const measure: Cases<keyof typeof actions> = {
  readStats: () => ({ query: { measure: 'outcomes', by: 'channel' } }),
  readSignInStats: () => ({ query: { measure: 'sign_ins', by: 'outcome' } }),
  readStatus: () => ({}),
  readSetup: () => ({}),
  readConfig: () => ({}),
  readStorage: () => ({}),
  readDrift: () => ({}),
}

/** What has nothing to act on here: the API gets as far as to look for it. */
export const measureMayFindNothing: readonly (keyof typeof actions)[] = []
