import { hash } from 'node:crypto'
import type { Clock } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { NotifyMetrics } from '../context/metrics.ts'
import type { Reports } from '../context/reports.ts'
import { machineOf } from './machine.ts'

/** What recording opens and clicks needs. */
export interface TrackingRecorderOptions {
  readonly reports: Reports
  readonly metrics: NotifyMetrics
  readonly clock: Clock
}

/** A request of a pixel or a link of ours. */
export interface TrackedRequest {
  /** Left out where the link is not one of ours. */
  readonly deliveryId: string | undefined
  readonly report: 'opened' | 'clicked'
  /** Where a short link led: each counts by itself. */
  readonly link?: string
}

/** Records what a request of a pixel or a link says of its delivery, told apart by whether a person made it. */
export type RecordTracked = (request: FastifyRequest, tracked: TrackedRequest) => void

/** Nobody waits for what is recorded; visits that come together are stored together. */
export function createTrackingRecorder({ reports, metrics, clock }: TrackingRecorderOptions): RecordTracked {
  return (request, { deliveryId, report, link }) => {
    const machine = machineOf(request)
    const by = machine === undefined ? 'reader' : 'machine'
    metrics.tracked.inc({ report, by })
    if (deliveryId === undefined) return
    const about = { deliveryId, report, at: clock.now(), ...(link === undefined ? {} : { link }) }
    // Event ids outlive the erasure of a user: what a link says is not in them.
    const eventId = [report, deliveryId, ...(link === undefined ? [] : [hash('sha256', link, 'base64url')])].join(':')
    // A machine's does not stand in for a reader's.
    const tracked =
      machine === undefined
        ? { ...about, eventId, byRecipient: link !== undefined }
        : { ...about, eventId: `${by}:${eventId}`, machine: true, reason: machine }
    reports
      .record('tracking', [tracked])
      .catch((error) => request.log.warn({ err: error }, 'an open or a click could not be stored'))
  }
}
