export { type PrometheusOptions, type PrometheusSource, prometheusReader } from './prometheus.ts'
export { type StatRecorder, type StatRecorderOptions, startStatRecorder, withUnwritten } from './recorder.ts'
export {
  bucketLabel,
  maxStatSteps,
  parseStatRange,
  quantileSeries,
  type StatRangeQuery,
  type StatSeries,
  StatSeriesSchema,
  statRangeMembers,
  sumSeries,
} from './series.ts'
export {
  type StatBatch,
  type StatExclusion,
  type StatQuery,
  type StatReader,
  type StatRow,
  type StatSpan,
  type StatStore,
  statRetentionMs,
} from './store.ts'
export { type StatTableOptions, statTable, statTables } from './table.ts'
export { createTally, otherLabel, type StatCount, type StatLabels, type Tally } from './tally.ts'
