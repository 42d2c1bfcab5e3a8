#!/bin/sh
# Plays what the figures of ../reproduction.md show. Run it from the repository's top folder; finished seeds are kept, so it can be stopped
# and started again. Names after it play only those: docs/reproduction/run.sh figure1 queue
set -e
[ $# -gt 0 ] || set -- figure1 figure1-theory figure1-continuous wrong-pocket figure2 figure3 rkhs-independent rkhs-half rkhs-quarter \
  rkhs-theory sensors finance penalty-noiseless penalty-noisy penalty-opponents penalty-noisy-opponents rates rates-noisy rates-opponents \
  rates-noisy-opponents queue margin
headroom=${HEADROOM:-go run ./cmd/web}
here=docs/reproduction

play() { # name, then flags
  name=$1
  shift
  set -- simulate "$@" -out "$here/$name"
  [ ! -f "$here/$name/settings.json" ] || set -- "$@" -settings "@$here/$name/settings.json"
  echo "$name: headroom $*"
  $headroom "$@"
}

for name in "$@"; do
  case $name in
  figure1) play $name -problem sine-pocket -grid 61 -seeds 50 \
    -algorithm rpol-ucb,config,ckb-5=ckb-ucb,ckb-slater=ckb-ucb,rpol-beta1=rpol-ucb,igp-ucb ;;
  figure1-theory) play $name -problem sine-pocket -grid 61 -seeds 50 -preset paper -algorithm rpol-ucb,config,ckb=ckb-ucb ;;
  figure1-continuous) play $name -problem sine-pocket -seeds 10 -algorithm rpol-ucb,config ;;
  wrong-pocket) play $name -problem sine-pocket -grid 61 -seeds 40 -algorithm rpol-ucb,config ;;
  figure2) play $name -problem sine-pocket-delayed -grid 61 -seeds 50 \
    -algorithm rpol-ucb,rpol-arrived=rpol-ucb,censored-0=rpol-censored-ucb,censored-1=rpol-censored-ucb,ckb-arrived=ckb-ucb,config-arrived=config ;;
  figure3) play $name -problem sine-pocket-drift -grid 61 -seeds 50 \
    -algorithm rpol-sw=rpol-sw-ucb,rpol-ucb,config,ckb-5=ckb-ucb,ckb-restart=ckb-restart-ucb ;;
  rkhs-independent) play $name -problem rkhs-100 -seeds 50 -plot positive,hard \
    -algorithm rpol-ucb,config,ckb-ucb,ckb-ts,ckb-rand,stageopt,sgp-ucb,igp-ucb ;;
  rkhs-half) play $name -problem rkhs-100-half -seeds 50 -plot regret,hard \
    -algorithm ckb-ucb,ckb-ts,ckb-ts-1=ckb-ts,ckb-rand,stageopt,sgp-ucb,rpol-ucb,igp-ucb ;;
  rkhs-quarter) play $name -problem rkhs-100-quarter -seeds 50 -plot regret,hard \
    -algorithm ckb-ucb,ckb-ts,ckb-ts-1=ckb-ts,ckb-rand,stageopt,sgp-ucb,rpol-ucb,igp-ucb ;;
  rkhs-theory) play $name -problem rkhs-100-half -seeds 50 -preset paper -plot regret,hard \
    -algorithm ckb-ucb,ckb-rand,stageopt,sgp-ucb,rpol-ucb ;;
  sensors) play $name -problem sensors -horizon 1000 -seeds 50 -plot regret,hard -algorithm ckb-ucb,ckb-ts,ckb-rand,stageopt,sgp-ucb,rpol-ucb ;;
  finance) play $name -problem finance -seeds 50 -plot regret,hard -algorithm ckb-ucb,ckb-ts,ckb-rand,stageopt,sgp-ucb,rpol-ucb ;;
  penalty-noiseless) play $name -problem sine-pocket -grid 61 -horizon 350 -kernel matern52 -noise-variance 0.01 -cost-noise-variance 0 \
    -lambda 0.01 -seeds 100 -algorithm printed=penalty-noiseless,reuse=penalty-noiseless,rpol-ucb,igp-ucb ;;
  penalty-noisy) play $name -problem sine-pocket -grid 61 -horizon 350 -kernel matern52 -noise-variance 0.01 -cost-noise-variance 0.01 \
    -lambda 0.01 -seeds 100 -algorithm printed=penalty-noisy,reuse=penalty-noisy,rpol-ucb,igp-ucb ;;
  penalty-opponents) play $name -problem sine-pocket -horizon 350 -kernel matern52 -noise-variance 0.01 -cost-noise-variance 0 \
    -lambda 0.01 -seeds 100 -algorithm admmbo,oco-a=oco-bandit,oco-b=oco-bandit,oco-c=oco-bandit,oco-d=oco-bandit,oco-e=oco-bandit ;;
  penalty-noisy-opponents) play $name -problem sine-pocket -horizon 350 -kernel matern52 -noise-variance 0.01 -cost-noise-variance 0.01 \
    -lambda 0.01 -seeds 100 -algorithm admmbo,oco-a=oco-bandit,oco-b=oco-bandit,oco-c=oco-bandit,oco-d=oco-bandit,oco-e=oco-bandit ;;
  rates) play $name -problem rate-allocation -grid 11 -cost-noise-variance 0 -lambda 0.01 -seeds 20 -plot utility/t,balance/t \
    -algorithm printed=penalty-noiseless,reuse=penalty-noiseless,rpol-ucb,igp-ucb ;;
  rates-noisy) play $name -problem rate-allocation -grid 11 -lambda 0.01 -seeds 20 -plot utility/t,balance/t \
    -algorithm printed=penalty-noisy,reuse=penalty-noisy,rpol-ucb,igp-ucb ;;
  rates-opponents) play $name -problem rate-allocation -cost-noise-variance 0 -lambda 0.01 -seeds 50 -plot utility/t,balance/t \
    -algorithm admmbo,oco-a=oco-bandit,oco-b=oco-bandit,oco-c=oco-bandit,oco-d=oco-bandit,oco-e=oco-bandit ;;
  rates-noisy-opponents) play $name -problem rate-allocation -lambda 0.01 -seeds 50 -plot utility/t,balance/t \
    -algorithm admmbo,oco-a=oco-bandit,oco-b=oco-bandit,oco-c=oco-bandit,oco-d=oco-bandit,oco-e=oco-bandit ;;
  queue) play $name -problem queue -grid 41 -seeds 50 -plot regret/t,balance -algorithm published=scgp-ucb,ii=scgp-ucb,root-t=scgp-ucb ;;
  margin) play $name -problem sine-pocket -horizon 200 -fit -seeds 20 -algorithm none=rpol-ucb,m05=rpol-ucb,m10=rpol-ucb ;;
  *) echo "there is no experiment $name" >&2; exit 1 ;;
  esac
done
