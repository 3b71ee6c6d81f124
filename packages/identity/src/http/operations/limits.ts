import type { Purposes } from '@gatehouse/kit'

/** The operations of tiers, policies and overrides. */
export const limitOperations = {
  'limitSettings.get': [
    'Read the stored tiers and policies',
    'The active version, what the configuration file says, and in what they differ.',
  ],
  'limitSettings.validate': [
    'Check a tier or policy',
    'Whether it could be stored, and if not, why. Without a declaration: whether it could be deleted.',
  ],
  'limitSettings.tiers.get': ['Read a tier', 'As it is stored and as the file has it.'],
  'limitSettings.tiers.put': ['Create or replace a tier', 'As a new version, which every gateway applies within 5 s.'],
  'limitSettings.tiers.delete': ['Delete a tier', 'Callers with its plan then have the lowest tier.'],
  'limitSettings.tierCallers.list': [
    'List the users and clients of a tier',
    'By plan and id; the lowest tier has those of unknown plans too. Clients that have a policy are limited by that.',
  ],
  'limitSettings.policies.get': ['Read a policy', 'As it is stored and as the file has it.'],
  'limitSettings.policies.put': [
    'Create or replace a policy',
    'As a new version, which every gateway applies within 5 s.',
  ],
  'limitSettings.policies.delete': ['Delete a policy', 'A built-in policy then has its built-in limits.'],
  'limitSettings.versions.list': ['List the versions of tiers and policies', 'Newest first. The first one is active.'],
  'limitSettings.versions.get': ['Read a version of tiers and policies', 'The whole document.'],
  'limitSettings.versions.activate': [
    'Activate an earlier version',
    'As a new version with its document; nothing is lost.',
  ],
  'limitSettings.gateways.list': [
    'List the processes that apply limits',
    'Each with the version that it applies, or why it cannot. Those that reported within 90 s.',
  ],
  'limitSettings.feed': [
    'Follow tiers, policies, overrides and the policies of clients',
    'For gateways, which read it every 5 s.',
  ],
  'limitSettings.gateways.report': ['Report which version applies', 'For gateways.'],
  'limitOverrides.list': ['List the limits of single callers', 'Those that have not ended, ordered by kind and id.'],
  'limitOverrides.get': ['Read the limit of a caller', 'Not found where the caller has no limit of its own.'],
  'limitOverrides.put': [
    'Set the limit of a caller until a time',
    'Another policy in place of the tier, or a multiple of it. Every gateway applies it within 5 s; it ends by itself.',
  ],
  'limitOverrides.delete': ['End the limit of a caller', 'The tier of the caller applies again within 5 s.'],
} as const satisfies Purposes
