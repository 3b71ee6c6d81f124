import type { limits as actions } from '@gatehouse/console/actions'
import type { Cases } from './case.ts'

const declaration = { rpm: 100_000 }
const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString()

/** A call for each action of this part. */
export const limits: Cases<keyof typeof actions> = {
  readLimitSettings: () => ({}),
  readTier: () => ({ params: { name: 'free' } }),
  readPolicy: () => ({ params: { name: 'console' } }),
  putTier: (role) => ({ params: { name: `tier-of-${role}` }, body: { declaration, comment: 'for a test' } }),
  putPolicy: (role) => ({ params: { name: `policy-of-${role}` }, body: { declaration } }),
  deleteTier: (role) => ({ params: { name: `tier-of-${role}` } }),
  deletePolicy: (role) => ({ params: { name: `policy-of-${role}` } }),
  validateLimit: () => ({ body: { kind: 'tiers', name: 'free', declaration } }),
  listLimitVersions: () => ({}),
  readLimitVersion: () => ({ params: { version: '1' } }),
  activateLimits: () => ({ params: { version: '1' }, body: { comment: 'for a test' } }),
  listTierCallers: () => ({ params: { name: 'free' } }),
  listLimitGateways: () => ({}),
  listOverrides: () => ({}),
  putOverride: (role) => ({
    params: { kind: 'user', id: role },
    body: { factor: 2, until: tomorrow(), reason: 'for a test' },
  }),
  deleteOverride: (role) => ({ params: { kind: 'user', id: role } }),
}

/** What has nothing to act on here: the API gets as far as to look for it. */
export const limitsMayFindNothing: readonly (keyof typeof actions)[] = []
