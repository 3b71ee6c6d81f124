import { Type } from 'typebox'

/** The section `engines`: the databases and brokers, which the environment names as well. */
export const Engines = Type.Object(
  {
    database_url: Type.Optional(Type.String({ description: 'As DATABASE_URL, which wins over it.' })),
    redis_url: Type.Optional(
      Type.String({
        description: 'As REDIS_URL, which wins over it: a server, a group that Sentinels watch, or a Cluster.',
        examples: [
          'redis://redis:6379',
          'redis+sentinel://sentinel-1:26379,sentinel-2:26379/mymaster',
          'redis+cluster://node-1:6379,node-2:6379',
        ],
      }),
    ),
    redis_cluster: Type.Optional(
      Type.Boolean({
        description: 'A redis:// address is that of a node of a Redis Cluster, as with redis+cluster://.',
        default: false,
      }),
    ),
    redis_cluster_tags: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_024,
        description:
          'Groups into which a Redis Cluster divides the identifiers; the checks of a group travel together. Four or five for each primary, and a multiple of their number. Default: four for each primary, computed once and stored in the cluster (rl:tags).',
      }),
    ),
    redis_regional_url: Type.Optional(
      Type.String({ description: 'Where policies with `quota: regional` are counted. Default: redis_url.' }),
    ),
    gateways: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1000,
        description:
          'The least number of gateways to reckon with, for policies with `mode: hybrid`. Those that live are counted in the store by themselves.',
        default: 1,
      }),
    ),
    hot_key_rate: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000_000,
        description:
          'Checks of one identifier per second and process above which its counter is split: units are leased in advance, never over the limit.',
        default: 500,
      }),
    ),
    nats_url: Type.Optional(Type.String({ description: 'As NATS_URL, which wins over it.' })),
    nats_replicas: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 5, description: 'As NATS_REPLICAS, which wins over it.' }),
    ),
    data_dir: Type.Optional(Type.String({ description: 'As DATA_DIR, which wins over it.' })),
  },
  { additionalProperties: false, description: 'What Gatehouse stands on. Without any of these it is embedded.' },
)
