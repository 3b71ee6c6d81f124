import { dangerous, editors, everybody, read } from './action.ts'

const written = [
  'limitSettings.get',
  'limitSettings.tiers.get',
  'limitSettings.policies.get',
  'limitSettings.versions.list',
  'limitSettings.gateways.list',
] as const

/** What is done with tiers, policies and the limits of single callers. */
export const limits = {
  readLimitSettings: read('limitSettings.get', everybody),
  readTier: read('limitSettings.tiers.get', everybody),
  readPolicy: read('limitSettings.policies.get', everybody),
  putTier: dangerous('limitSettings.tiers.put', editors, ...written),
  putPolicy: dangerous('limitSettings.policies.put', editors, ...written),
  deleteTier: dangerous('limitSettings.tiers.delete', editors, ...written),
  deletePolicy: dangerous('limitSettings.policies.delete', editors, ...written),
  validateLimit: read('limitSettings.validate', everybody),
  listLimitVersions: read('limitSettings.versions.list', everybody),
  readLimitVersion: read('limitSettings.versions.get', everybody),
  activateLimits: dangerous('limitSettings.versions.activate', editors, ...written),
  listTierCallers: read('limitSettings.tierCallers.list', everybody),
  listLimitGateways: read('limitSettings.gateways.list', everybody),
  listOverrides: read('limitOverrides.list', everybody),
  putOverride: dangerous('limitOverrides.put', editors, 'limitOverrides.list', 'limits.callers.get'),
  deleteOverride: dangerous('limitOverrides.delete', editors, 'limitOverrides.list', 'limits.callers.get'),
}
