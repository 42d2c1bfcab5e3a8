#include "textflag.h"

// The loops of dot_amd64.s in words of eight numbers. A register holds the four lanes of one sum
// beside those of
// another, so that every lane takes the same products in the same order. AX counts the numbers
// done, CX is how many
// there are.

// PAIR loads the next four numbers of two rows into the halves of a register.
#define PAIR(first, second, low, to) \
	VMOVUPD      (first)(AX*8), low            \
	VINSERTF64X4 $1, (second)(AX*8), to, to

// BOTH adds the products of the next four numbers of b and those of all four rows, which are in Z12
// and Z13.
#define BOTH(b, s01, s23) \
	VBROADCASTF64X4 (b)(AX*8), Z14 \
	VFMADD231PD     Z14, Z12, s01  \
	VFMADD231PD     Z14, Z13, s23

// func dot24AVX512(s *[24]partial, a0, a1, a2, a3, b0, b1, b2, b3, b4, b5 *float64, n int)
TEXT ·dot24AVX512(SB), NOSPLIT, $0-96
	MOVQ    a0+8(FP), R8
	MOVQ    a1+16(FP), R9
	MOVQ    a2+24(FP), R10
	MOVQ    a3+32(FP), R11
	MOVQ    b0+40(FP), SI
	MOVQ    b1+48(FP), DI
	MOVQ    b2+56(FP), DX
	MOVQ    b3+64(FP), BX
	MOVQ    b4+72(FP), R12
	MOVQ    b5+80(FP), R13
	MOVQ    n+88(FP), CX
	MOVQ    s+0(FP), AX
	VMOVUPD (AX), Z0
	VMOVUPD 64(AX), Z1
	VMOVUPD 128(AX), Z2
	VMOVUPD 192(AX), Z3
	VMOVUPD 256(AX), Z4
	VMOVUPD 320(AX), Z5
	VMOVUPD 384(AX), Z6
	VMOVUPD 448(AX), Z7
	VMOVUPD 512(AX), Z8
	VMOVUPD 576(AX), Z9
	VMOVUPD 640(AX), Z10
	VMOVUPD 704(AX), Z11
	XORQ    AX, AX

twentyfour:
	PAIR(R8, R9, Y12, Z12)
	PAIR(R10, R11, Y13, Z13)
	BOTH(SI, Z0, Z1)
	BOTH(DI, Z2, Z3)
	BOTH(DX, Z4, Z5)
	BOTH(BX, Z6, Z7)
	BOTH(R12, Z8, Z9)
	BOTH(R13, Z10, Z11)
	ADDQ    $4, AX
	CMPQ    AX, CX
	JLT     twentyfour
	MOVQ    s+0(FP), AX
	VMOVUPD Z0, (AX)
	VMOVUPD Z1, 64(AX)
	VMOVUPD Z2, 128(AX)
	VMOVUPD Z3, 192(AX)
	VMOVUPD Z4, 256(AX)
	VMOVUPD Z5, 320(AX)
	VMOVUPD Z6, 384(AX)
	VMOVUPD Z7, 448(AX)
	VMOVUPD Z8, 512(AX)
	VMOVUPD Z9, 576(AX)
	VMOVUPD Z10, 640(AX)
	VMOVUPD Z11, 704(AX)
	VZEROUPPER
	RET

// func axpy4AVX512(alpha *[4]float64, x0, x1, x2, x3, y *float64, n int)
TEXT ·axpy4AVX512(SB), NOSPLIT, $0-56
	MOVQ         alpha+0(FP), BX
	MOVQ         x0+8(FP), R8
	MOVQ         x1+16(FP), R9
	MOVQ         x2+24(FP), R10
	MOVQ         x3+32(FP), R11
	MOVQ         y+40(FP), DI
	MOVQ         n+48(FP), CX
	VBROADCASTSD (BX), Z0
	VBROADCASTSD 8(BX), Z1
	VBROADCASTSD 16(BX), Z2
	VBROADCASTSD 24(BX), Z3
	XORQ         AX, AX
	SUBQ         $8, CX
	JLT          rest

eight:
	VMOVUPD     (DI)(AX*8), Z4
	VFMADD231PD (R8)(AX*8), Z0, Z4
	VFMADD231PD (R9)(AX*8), Z1, Z4
	VFMADD231PD (R10)(AX*8), Z2, Z4
	VFMADD231PD (R11)(AX*8), Z3, Z4
	VMOVUPD     Z4, (DI)(AX*8)
	ADDQ        $8, AX
	CMPQ        AX, CX
	JLE         eight

rest:
	ADDQ $8, CX
	CMPQ AX, CX
	JGE  done
	VMOVUPD     (DI)(AX*8), Y4
	VFMADD231PD (R8)(AX*8), Y0, Y4
	VFMADD231PD (R9)(AX*8), Y1, Y4
	VFMADD231PD (R10)(AX*8), Y2, Y4
	VFMADD231PD (R11)(AX*8), Y3, Y4
	VMOVUPD     Y4, (DI)(AX*8)

done:
	VZEROUPPER
	RET
