export { type HistoryClient, redisHistory } from './history.ts'
