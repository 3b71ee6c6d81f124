import type { FastifyRequest } from 'fastify'
import { maskAddress, maskReason } from '../model/masking.ts'
import type { AccessControl } from '../request/caller.ts'
import type { SuppressionRecord } from '../store/store.ts'

/** A suppression as the API writes it, masked for callers who may not read personal data. */
export function formatForCaller(access: AccessControl, request: FastifyRequest, record: SuppressionRecord) {
  return formatSuppression(access.masks(request, record.userId) ? maskSuppression(record) : record)
}

/** Without the address and the words of others. */
export function maskSuppression(record: SuppressionRecord): SuppressionRecord {
  const { channel, address, detail } = record
  return {
    ...record,
    address: maskAddress(channel, address),
    ...(detail === undefined ? {} : { detail: maskReason(detail) }),
  }
}

/** An address whose channel is not named. */
export function maskUnknown(address: string): string {
  return maskAddress(address.includes('@') ? 'email' : 'sms', address)
}

function formatSuppression({ userId, since, expiresAt, ...record }: SuppressionRecord) {
  return {
    ...record,
    user_id: userId,
    since: new Date(since).toISOString(),
    ...(expiresAt === undefined ? {} : { expires_at: new Date(expiresAt).toISOString() }),
  }
}
